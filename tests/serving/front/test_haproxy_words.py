"""What HAProxy says of replicas is said in our words; the rest stays, and what happens every day is left out."""

import pytest
from lamr_serving.front.running import in_plain_words

DOWN = "0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "[WARNING]  (34) : Server replicas/one is DOWN, reason: Layer4 connection problem, info: "
            f'"Connection refused at step 1 of tcp-check (connect)", check duration: 0ms. {DOWN}',
            "replica one isn't ready: Connection refused",
        ),
        (
            "[WARNING]  (34) : Server replicas/a-b is DOWN, reason: Layer7 timeout, check duration: 4001ms. "
            + DOWN,
            "replica a-b isn't ready: Layer7 timeout",
        ),
        (
            "[WARNING]  (34) : Server replicas/one is UP, reason: Layer7 check passed, code: 0, info: "
            '"(tcp-check)", check duration: 0ms. 1 active and 0 backup servers online.',
            "replica one is ready",
        ),
        (
            "[ALERT]    (34) : backend 'replicas' has no server available!",
            "no replica is ready; every call is refused until one is",
        ),
        (
            "[ALERT]    (34) : backend 'replicas-d3f7ef743a904628' has no server available!",
            "no replica with the model d3f7ef743a904628 is ready; calls for it are refused until one is",
        ),
        ("[WARNING]  (34) : Server replicas-d3f7ef743a904628/one is DOWN via replicas/one.", None),
        ("[NOTICE]   (34) : New worker (36) forked", None),
        ("[ALERT]    (34) : sendmsg()/writev() failed", "[ALERT]    (34) : sendmsg()/writev() failed"),
    ],
)
def test_words(line: str, words: str | None) -> None:
    assert in_plain_words(line) == words


def test_a_real_front_tells_of_its_replica(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    replica.stop()
    site.until(lambda: "no replica is ready" in site.report.getvalue())
    assert site.report.getvalue().startswith("lamr: replica r0 isn't ready: ")
