/** The front page shows blocks of other pages, so that the tests of those run them. */

import { readFileSync } from "node:fs";
import type { MarkdownRenderer } from "vitepress";

/** Fills an empty block of the front page, such as `ts [Hono] README.md`, with the first such block of each page. */
export function withBlocksOfPages(md: MarkdownRenderer, root: string): void {
  md.core.ruler.push("blocks-of-pages", ({ tokens }) => {
    for (const token of tokens) {
      const [, title, language, pages] = /^((\w+) \[.+\]) (\S+\.md.*)$/.exec(token.info) ?? [];
      if (token.type !== "fence" || title === undefined) continue;
      token.info = title;
      token.content = pages!
        .split(" ")
        .map((page) => firstOf(language!, page))
        .join("\n");
    }
  });

  function firstOf(language: string, page: string): string {
    const text = readFileSync(root + page, "utf8");
    const [, block] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text) ?? [];
    if (block === undefined) throw new Error(`expected a block of ${language} in ${page}`);
    return block;
  }
}
