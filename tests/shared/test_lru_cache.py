"""The cache that is bounded in bytes."""

from toolsearch.shared import ByteLruCache


def test_the_bytes_of_all_values_stay_within_the_limit() -> None:
    cache: ByteLruCache[int, str] = ByteLruCache(1_600)
    for number in range(1_000):
        cache.put(number, "value", size=1 + number % 150)
        assert cache.bytes <= 1_600
    cache.clear()
    assert (len(cache), cache.bytes) == (0, 0)


def test_the_value_used_last_stays() -> None:
    cache: ByteLruCache[str, int] = ByteLruCache(1_600)
    cache.put("kept", 1, size=100)
    for number in range(100):
        cache.put(f"other_{number}", number, size=100)
        assert cache.get("kept") == 1


def test_a_large_value_does_not_evict_others() -> None:
    cache: ByteLruCache[str, int] = ByteLruCache(1_600)
    cache.put("small", 1, size=100)
    for number in range(100):
        cache.put(f"large_{number}", number, size=101)
    assert (cache.get("small"), len(cache)) == (1, 1)


def test_a_value_that_grows_too_large_is_dropped() -> None:
    cache: ByteLruCache[str, int] = ByteLruCache(1_600)
    cache.put("key", 1, size=100)
    cache.put("key", 2, size=1_000)
    assert (cache.get("key"), cache.bytes) == (None, 0)
