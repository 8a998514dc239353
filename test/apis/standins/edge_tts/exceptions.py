class NoAudioReceived(Exception):
    pass
