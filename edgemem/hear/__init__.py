"""Sound: speech recognition, subtitles, utterances."""
