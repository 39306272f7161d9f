"""LiteLLM's proxy: a callback that prunes new results of tools in the messages on their way to any model.

Name it in the proxy's configuration: `litellm_settings: {callbacks: lamr_agents.litellm_proxy.callback}`. LAMR_SERVER
or the user's `lamr.toml` names a server; without one, the model runs in the proxy's process."""

import asyncio
import functools
import logging
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from lamr_agents.embedded import Lazily, Own
from lamr_agents.local.store import default_folder
from lamr_agents.local.texts import Texts
from lamr_agents.messages import Conversations

TIMEOUT_SECONDS = 20.0  # limit for all new results of a request
_EDITING = "context_management"
"""The parameter of Anthropic's API that lets the provider clear results of tools."""
_log = logging.getLogger("lamr.agents")


class PruningCallback(CustomLogger):
    """Changes messages before they are sent; whatever fails here, the request goes on as it came."""

    @functools.cached_property
    def _conversations(self) -> Conversations:
        own = Own.read()
        return Conversations(
            Lazily(own.make_pruner),
            Texts(default_folder() / "sent.sqlite3"),
            own.policy,
            timeout=TIMEOUT_SECONDS,
            effort=own.reading.effort,
        )

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002 - the base's signature
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Prune the messages of a request, in a thread; LiteLLM calls this before it sends one."""
        messages = data.get("messages")
        if isinstance(messages, list):
            try:
                edited = any(_EDITING in (part or {}) for part in (data, data.get("extra_body")))
                data["messages"] = await asyncio.to_thread(
                    self._conversations.pruned, messages, edited=edited
                )
            except Exception:
                _log.exception("a request's messages were sent as they came")
        return data


callback = PruningCallback()
