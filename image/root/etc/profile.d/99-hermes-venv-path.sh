# /etc/profile gives login shells a search path of its own; this puts Hermes back to where the image has it.
PATH=/opt/hermes/bin:/opt/hermes/.venv/bin:/opt/data/.local/bin:$PATH
