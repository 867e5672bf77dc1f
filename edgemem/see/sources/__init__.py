"""Where frames and sound come from: files, folders, cameras, microphones."""
