"""Repositories of strangers: what git would start, names that lead out, lists without end, objects that lie."""

from tests.attack.git_lists import LISTS
from tests.attack.git_names import PATHS
from tests.attack.git_objects import OBJECTS
from tests.attack.git_programs import GIT

CASES = (*GIT, *PATHS, *LISTS, *OBJECTS)
