"""Which projects the corpus is made of, and which validate it.

This is a table and nothing else; `fetch` downloads. Every project is under a permissive licence (MIT, BSD,
Apache-2.0, ISC, PSF or public domain); `fetch` checks what the package itself declares, and refuses the projects that
`lamr_evaluation.reserved` keeps for evaluation.
"""

from __future__ import annotations

from lamr_evaluation.reserved import VENDOR_FOLDERS

FOREIGN_FOLDERS = VENDOR_FOLDERS | {"packages", "typeshed", "locale", "locales", "_generated", "_gencode"}
"""Folders that hold other projects' code, generated code or no code at all."""

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
    aiobotocore aiohttp aiosmtpd alembic altair anyio apprise apscheduler arrow asyncpg attrs authlib azure-core babel
    bandit beautifulsoup4 beets black bokeh boto3 botocore bottle cachetools cattrs channels cibuildwheel cleo
    conda-lock cookiecutter coverage cryptography dash dask discord.py diskcache distributed django-allauth
    djangorestframework dulwich dvc dynaconf elasticsearch fabric faker falcon fastapi feedparser fire flake8 freezegun
    gitpython google-api-core google-auth gql gradio graphene graphql-core gunicorn h2 hatch hatchling huey hydra-core
    hypercorn invoke ipython isort jedi joblib jsonschema jupyter-client kafka-python lark litestar locust luigi
    markdown mitmproxy mkdocs mopidy moto msal mypy nbconvert nicegui nltk nox oauthlib omegaconf openpyxl
    opentelemetry-sdk pandas parsel parso passlib pdfminer.six pdm pendulum pexpect pika pip platformio ply poetry
    pre-commit prefect pygments pyjwt pymongo pymysql pyparsing pypdf pyramid python-docx redis responses rq
    ruamel.yaml s3transfer sanic scikit-image scons sentry-sdk setuptools spacy sqlalchemy sqlglot starlette
    statsmodels strawberry-graphql streamlit structlog tenacity textual tomlkit tortoise-orm tox traitlets tweepy twine
    twisted urllib3 uvicorn vcrpy virtualenv watchdog websockets wtforms xlsxwriter yt-dlp
    """
TRAINING = tuple(_TRAINING.split())
