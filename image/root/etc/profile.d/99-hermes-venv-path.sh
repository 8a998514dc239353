# /etc/profile gives login shells a search path of its own; this puts Hermes back to where the image has it. Root's
# shells do not look where the service user can write.
if [ "$(id -u)" -ne 0 ]; then
	PATH=/opt/data/.local/bin:$PATH
fi
PATH=/opt/hermes/bin:/opt/hermes/.venv/bin:$PATH
