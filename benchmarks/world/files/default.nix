{ pkgs ? import <nixpkgs> { }
, version ? "2.1"
}:

let
  # what it needs
  inputs = with pkgs; [
    openssl
    zlib
  ];
  note = ''
    Text of several lines.
    # no comment
    version ${version}
  '';
in
pkgs.stdenv.mkDerivation rec {
  pname = "orders";
  inherit version;
  src = ./.;
  buildInputs = inputs;
  buildPhase = ''
    make all
    # the shell's comment
    make check
  '';
  installPhase = ''
    mkdir -p $out/bin
    cp orders $out/bin/
  '';
  meta = {
    description = "Reads orders";
    license = pkgs.lib.licenses.asl20;
  };
}
