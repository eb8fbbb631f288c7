"""Scaling benchmark: speed and memory by the size of the catalog."""

from .catalogs import Material, bundled_material, load_material
from .checks import Check
from .measure import run_scaling

__all__ = ["Check", "Material", "bundled_material", "load_material", "run_scaling"]
