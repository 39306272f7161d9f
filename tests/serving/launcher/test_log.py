"""The lines of Triton's log that say why it failed are the ones that are quoted."""

from lamr_serving.launcher.process import excerpt, port_was_taken

LOG = """\
I1121 01:56:19.675674 13284 model_lifecycle.cc:472] "loading: lamr_encoder:1"
E1121 01:56:19.670819 13284 server.cc:241] "CudaDriverHelper has not been initialized."
E1121 01:56:19.676496 13284 model_lifecycle.cc:642] "failed to load 'lamr_encoder' version 1: Internal: broken
    a second line of it"
I1121 01:56:19.676534 13284 model_lifecycle.cc:777] "failed to load 'lamr_encoder'"
+--------------+---------+
| lamr_encoder | UNAVAILABLE |
+--------------+---------+
E1121 01:56:19.776496 13284 model_lifecycle.cc:642] "failed to load 'lamr_encoder' version 1: Internal: broken
error: creating server: Internal - failed to load all models
"""


def test_a_death_that_the_log_does_not_explain_is_not_explained_by_what_is_always_there():
    loading = (
        'W1122 13:03:34.735617 14116 pinned_memory_manager.cc:273] "Unable to allocate pinned system memory, pinned '
        'memory pool will not be available: CUDA driver version is insufficient for CUDA runtime version"\n'
        'E1122 13:03:34.735758 14116 server.cc:241] "CudaDriverHelper has not been initialized."\n'
        'E1122 13:03:35.575827 14116 ensemble_scheduler.cc:1468] "unable to create stream for lamr: CUDA driver '
        'version is insufficient for CUDA runtime version"\n'
        'I1122 13:03:36.000000 14116 server.cc:674] "ready"\n'
    )
    assert excerpt(loading, errors_only=True) == ""
    crashed = loading + "Signal (11) received.\n 0# 0x0000556EFB9CD13D in tritonserver\n"
    assert excerpt(crashed, errors_only=True).splitlines() == [
        "Signal (11) received.",
        " 0# 0x0000556EFB9CD13D in tritonserver",
    ]


def test_errors_with_their_continuation_once():
    assert excerpt(LOG).splitlines() == [
        "\"failed to load 'lamr_encoder' version 1: Internal: broken",
        '    a second line of it"',
        "error: creating server: Internal - failed to load all models",
    ]


def test_output_before_any_entry_and_unknown_flags_count_and_not_the_help_after_them():
    assert excerpt("tritonserver: error while loading shared libraries: libz.so.1\n").startswith(
        "tritonserver: error"
    )
    text = (
        "/x/tritonserver: unrecognized option '--nonsense'\nUsage: tritonserver [options]\n" + "help\n" * 300
    )
    assert excerpt(text) == "/x/tritonserver: unrecognized option '--nonsense'"
    assert excerpt("") == ""
    lines = [f'I1121 01:56:19.675674 13284 server.cc:{number}] "line {number}"' for number in range(50)]
    assert excerpt("\n".join(lines), most=2).splitlines() == ['"line 48"', '"line 49"']


def test_ports_taken_by_others():
    assert port_was_taken("Unavailable - Socket '127.0.0.1:8001' already in use")
    assert not port_was_taken(LOG)
