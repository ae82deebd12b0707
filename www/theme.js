// The stored theme, set before the first paint. Without one the style sheet follows the system.
try {
  const theme = localStorage.getItem("tickscope.theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that refuses storage follows the system.
}
