"""The table of evaluation-only projects recognizes names, forks and vendored copies, and nothing beside them."""

import pytest
from lamr_evaluation.reserved import RESERVED, reserved_package, reserved_path, reserved_repository


def test_every_project_is_listed_once_and_recognized_by_each_of_its_names():
    repositories = [project.repository.lower() for project in RESERVED]
    packages = [name for project in RESERVED for name in project.packages]
    assert len(set(repositories)) == len(repositories)
    assert len(set(packages)) == len(packages)
    for project in RESERVED:
        assert project.repository.count("/") == 1
        assert reserved_repository(project.repository.upper()) is project
        assert all(reserved_package(name) is project for name in project.packages)
        assert all(reserved_path(f"vendor/{name}/code.c") is project for name in project.packages)


@pytest.mark.parametrize(
    ("repository", "reserved"),
    [
        ("psf/requests", True),
        ("somebody/django", True),
        ("https://github.com/somebody/Newtonsoft.Json.git", True),
        ("somebody/json", False),
        ("redis/redis-py", False),
        ("encode/httpcore", False),
    ],
)
def test_forks_of_distinctive_names_are_reserved(repository, reserved):
    assert bool(reserved_repository(repository)) == reserved


def test_a_package_is_recognized_in_every_spelling_and_no_other():
    names = ["Scikit_Learn", "scikit.learn", "Jinja2", "PYTEST"]
    free = ["django-allauth", "pytest-asyncio", "redis", "requests-oauthlib", "httpcore"]
    assert [name for name in (*names, *free) if reserved_package(name)] == names


@pytest.mark.parametrize(
    ("path", "repository"),
    [
        ("pip/_vendor/rich/console.py", "Textualize/rich"),
        ("deps/redis-7.2.1/src/ae.c", "redis/redis"),
        ("third_party/json.hpp", "nlohmann/json"),
        ("app/include/nlohmann/detail/value.hpp", "nlohmann/json"),
        ("vendor/github.com/spf13/cobra/args.go", "spf13/cobra"),
        ("internal/github.com/gin-gonic/gin/context.go", "gin-gonic/gin"),
        ("sklearn/svm/base.py", "scikit-learn/scikit-learn"),
        ("src/werkzeug/http.py", "pallets/werkzeug"),
        ("setuptools/_distutils/cmd.py", "python/cpython"),
        ("node_modules/axios/lib/core/Axios.js", "axios/axios"),
        *(
            (path, None)
            for path in ("sentry_sdk/integrations/django/asgi.py", "redis/client.py", "requests.py", "")
        ),
        *((path, None) for path in ("src/core/json.ts", "lib/console/query.rb", "opentelemetry/celery.py")),
    ],
)
def test_copies_are_recognized_by_their_path_and_support_for_a_project_is_none(path, repository):
    project = reserved_path(path)
    assert (project and project.repository) == repository
