"""What all sources of training records share: manifests, files, paths, git, parts, written questions."""
