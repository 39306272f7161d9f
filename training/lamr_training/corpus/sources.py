"""Which projects the corpus is made of, which validate it, and which must never be in it.

A table and nothing else; downloading is `fetch`'s work. Every project is under a permissive licence (MIT, BSD,
Apache-2.0, ISC, PSF or public domain); `fetch` checks what the package itself declares.
"""

from __future__ import annotations

# Projects that other people's evaluations use, and those of our own held-out benchmark.
NEVER = frozenset({"streamlink", "conan", "reflex", "httpx"})
HELD_OUT = frozenset(
    {
        "celery",
        "click",
        "flask",
        "jinja2",
        "marshmallow",
        "networkx",
        "paramiko",
        "pydantic",
        "requests",
        "rich",
        "scrapy",
        "werkzeug",
    }
)

# Folders that hold other projects' code or generated code.
FOREIGN_FOLDERS = frozenset(
    {
        "_vendor",
        "_vendored",
        "vendor",
        "vendored",
        "vendors",
        "third_party",
        "thirdparty",
        "extern",
        "externals",
        "packages",
        "_distutils",
        "distutils",
        "lib2to3",
        "blib2to3",
        "typeshed",
        "locale",
        "locales",
        "_generated",
        "_gencode",
    }
)

VALIDATION = (
    "dnspython",
    "docker",
    "loguru",
    "mistune",
    "peewee",
    "poetry-core",
    "prompt-toolkit",
    "tornado",
    "trio",
)

_TRAINING = """
    aiobotocore aiohttp aiosmtpd alembic altair anyio apprise apscheduler arrow asyncpg attrs authlib azure-core
    babel bandit beautifulsoup4 beets black bokeh boto3 botocore bottle cachetools cattrs channels cibuildwheel cleo
    conda-lock cookiecutter coverage cryptography dash dask discord.py diskcache distributed django django-allauth
    djangorestframework dulwich dvc dynaconf elasticsearch fabric faker falcon fastapi feedparser fire flake8
    freezegun gitpython google-api-core google-auth gql gradio graphene graphql-core gunicorn h2 hatch hatchling
    huey hydra-core hypercorn invoke ipython isort jedi joblib jsonschema jupyter-client kafka-python lark litestar
    locust luigi markdown matplotlib mitmproxy mkdocs mopidy moto msal mypy nbconvert nicegui nltk nox oauthlib
    omegaconf openpyxl opentelemetry-sdk pandas parsel parso passlib pdfminer.six pdm pendulum pexpect pika pip
    platformio ply poetry pre-commit prefect pygments pyjwt pymongo pymysql pyparsing pypdf pyramid pytest
    python-docx redis responses rq ruamel.yaml s3transfer sanic scikit-image scikit-learn scons seaborn sentry-sdk
    setuptools spacy sphinx sqlalchemy sqlglot starlette statsmodels strawberry-graphql streamlit structlog sympy
    tenacity textual tomlkit tortoise-orm tox traitlets tweepy twine twisted urllib3 uvicorn vcrpy virtualenv
    watchdog websockets wtforms xarray xlsxwriter yt-dlp
    """
TRAINING = tuple(_TRAINING.split())
