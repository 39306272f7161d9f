"""The house stands as docs/architecture.md draws it: layers, packages, light imports."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "lamr_base": 0,
    "lamr_postprocess": 1,
    "lamr_model": 2,
    "lamr_client": 3,
    "lamr_serving": 4,
    "lamr_repositories": 4,
    "lamr_export": 5,
    "lamr_agents": 5,
    "lamr_evaluation": 6,
    "lamr_training": 7,
    "lamr_cli": 8,
}
FOLDERS = {name: ROOT / name.removeprefix("lamr_") / name for name in LAYERS}
LIGHT = [
    "lamr_base",
    "lamr_postprocess",
    "lamr_model",
    "lamr_client",
    "lamr_serving",
    "lamr_repositories",
    "lamr_agents",
]
HEAVY = ["torch", "transformers", "onnxruntime", "onnx"]
UNUSED = [*HEAVY, "asyncio", "grpc", "multiprocessing", "pydantic", "rich", "tomllib"]
"""What `lamr prune FILE --effort instant` doesn't need."""


def _imports(path: Path) -> set[str]:
    """Top-level names of every absolute import in a file, wherever in it they stand."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_down_only(package: str) -> None:
    for path in FOLDERS[package].rglob("*.py"):
        above = {name for name in _imports(path) & LAYERS.keys() if LAYERS[name] > LAYERS[package]}
        assert not above, f"{path.relative_to(ROOT)} imports {above} from a layer above its own"
        siblings = {
            n for n in _imports(path) & LAYERS.keys() if LAYERS[n] == LAYERS[package] and n != package
        }
        assert not siblings, f"{path.relative_to(ROOT)} imports its neighbour {siblings}"


@pytest.mark.parametrize("package", LAYERS)
def test_folders_and_modules_of_a_package_import_each_other_in_no_circle(package: str) -> None:
    below: dict[str, set[str]] = {}
    folder = FOLDERS[package]
    parts = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()} - {"__init__"}
    for path in folder.rglob("*.py"):
        if path == folder / "__init__.py":
            continue
        name = path.relative_to(folder).with_suffix("").parts[0]
        nodes = [
            n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)
        ]
        wholes = [f"{n.module}.{alias.name}" for n in nodes for alias in n.names if n.module]
        used = {whole.split(".")[1] for whole in wholes if whole.startswith(f"{package}.")}
        below.setdefault(name, set()).update(used & parts - {name})
    while free := [name for name, used in below.items() if not used & below.keys()]:
        for name in free:
            del below[name]
    assert not below, f"{package}: these import each other: {below}"


@pytest.mark.parametrize("package", LIGHT)
def test_light_packages_import_without_the_heavy_ones(package: str) -> None:
    code = f"import sys, {package}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pruning_imports_only_what_it_uses(tmp_path: Path) -> None:
    code = f"""
import sys
from lamr_cli.main import main
try:
    main()
except SystemExit:
    print([m for m in {UNUSED} if m in sys.modules], file=sys.stderr)
"""
    file = tmp_path / "code.py"
    file.write_text("def limit(retries):\n    return min(retries, 3)\n", encoding="utf-8")
    command = [sys.executable, "-c", code, "prune", str(file), "-q", "retries", "--effort", "instant"]
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("package", [name for name in LIGHT if name != "lamr_serving"])
def test_no_expression_is_compiled_at_import(package: str) -> None:
    for path in FOLDERS[package].rglob("*.py"):
        values = [getattr(node, "value", None) for node in ast.parse(path.read_text(encoding="utf-8")).body]
        calls = [each for value in values if value is not None for each in ast.walk(value)]
        compiled = [ast.unparse(each) for each in calls if ast.unparse(each).startswith("re.compile(")]
        assert not compiled, f"{path.relative_to(ROOT)} compiles {compiled}: write expression(...)"


def test_every_python_folder_is_packaged() -> None:
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    wanted = set()
    for name, folder in FOLDERS.items():
        wanted |= {".".join([name, *p.parent.relative_to(folder).parts]) for p in folder.rglob("__init__.py")}
    listed = set(tool["packages"])
    assert wanted <= listed, f"pyproject.toml does not package {wanted - listed}"
    assert listed == set(tool["package-dir"]) | {name for name in listed if "." in name}


def test_git_is_started_in_one_place() -> None:
    for folder in FOLDERS.values():
        for path in folder.rglob("*.py"):
            if path == FOLDERS["lamr_repositories"] / "git.py":
                continue
            found = [word for word in _commands(path) if Path(word.split(" ")[0]).name in ("git", "git.exe")]
            assert not found, f"{path.relative_to(ROOT)} starts {found}: call lamr_repositories.git"


def _commands(path: Path) -> set[str]:
    """Texts of a file that could begin a command line: first in a list or tuple, or among a call's first arguments."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        lists = isinstance(node, ast.List | ast.Tuple)
        starts = isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in _STARTERS
        words = node.elts[:1] if lists else node.args[:2] if starts else []  # type: ignore[attr-defined]
        found |= {
            word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)
        }
    return found


_STARTERS = (
    *("run", "Popen", "call", "check_call", "check_output", "getoutput", "system", "popen", "which"),
    *("create_subprocess_exec", "create_subprocess_shell", "execv", "execvp", "spawnv", "posix_spawn"),
)


def test_first_lines_say_what_a_module_is() -> None:
    for folder in FOLDERS.values():
        for path in folder.rglob("*.py"):
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"


def test_no_two_public_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in (path for folder in FOLDERS.values() for path in folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert not shared, f"give one of each its own name: {shared}"
