/** From files of the repository to addresses of the site. */

/** The page of a Markdown file in the site. @param path from the top of the repository. */
export function routeOf(path: string): string {
  const inside = path.replace(/^(?:docs|site)\//, "");
  return inside.replace(/\/README\.md$/, "/index.md");
}

/** The address of a Markdown file. @param path from the top of the repository. */
export function urlOf(path: string): string {
  return `/${routeOf(path)
    .replace(/\.md$/, "")
    .replace(/(^|\/)index$/, "$1")}`;
}

/** The anchor that GitHub gives to a heading: the pages are read there too. A second heading of a name gets a number. */
export function slugOf(heading: string): string {
  const text = heading.toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
}
