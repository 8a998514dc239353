// The theme that was chosen here, before anything is painted; without a choice the system's counts. Not a module, for a
// module would come after the first paint.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing for this page shows the system's theme.
}
