"""The way of sound: speech recognition, subtitles, utterances."""
