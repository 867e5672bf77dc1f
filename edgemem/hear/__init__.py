"""The sound's way: speech recognition, subtitles, utterances."""
