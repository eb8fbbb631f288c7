"""The optional parts of a chat model."""

from toolsearch.chat import ChatModel, NamedModel, OutputSchemaModel
from toolsearch.models import OpenAIChatModel
from toolsearch.testing import ScriptedChatModel


def test_the_openai_model_implements_the_optional_protocols() -> None:
    model = OpenAIChatModel("gpt-5-mini", output_schema=False)
    assert isinstance(model, ChatModel)
    assert isinstance(model, NamedModel)
    assert (model.model_name, model.provider_name) == ("gpt-5-mini", "openai")
    assert isinstance(model, OutputSchemaModel)
    assert model.supports_output_schema is False


def test_a_model_without_names_is_not_a_named_model() -> None:
    assert isinstance(ScriptedChatModel(["ok"]), ChatModel)
    assert not isinstance(ScriptedChatModel(["ok"]), NamedModel)
