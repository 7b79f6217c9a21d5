/** Tables of Markdown must have a header for each column. An empty one is no header. */

import type { MarkdownRenderer } from "vitepress";

/** Makes empty header cells cells without a meaning of their own. */
export function withoutEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    for (const [i, token] of tokens.entries()) {
      if (token.type !== "th_open" || tokens[i + 1]!.content.trim() !== "") continue;
      token.tag = "td";
      tokens[i + 2]!.tag = "td";
    }
  });
}
