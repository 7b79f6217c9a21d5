/** The pages link each other as files, as GitHub reads them. The site has other addresses. */

import { posix, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { urlOf } from "./urls.ts";

/** What VitePress tells about the page that is rendered. */
interface PageEnvironment {
  /** The absolute path of the file, or of the page if that has another address and `realPath` is there. */
  readonly path: string;
  readonly realPath?: string;
}

/**
 * Leads links between files to pages of the site, and links to other files to the source.
 *
 * @param root the top of the repository, an absolute path. @param sourceUrl where its files can be read. Absent: links
 * to files that are no pages are left out, and their text stays.
 * @param isPage whether a file is a page of the site, by its path from the top.
 */
export function withSiteLinks(
  md: MarkdownRenderer,
  root: string,
  isPage: (path: string) => boolean,
  sourceUrl?: string,
): void {
  md.core.ruler.push("site-links", (state) => {
    const { path, realPath = path } = state.env as PageEnvironment;
    const from = posix.dirname(relative(root, realPath));
    for (const { children } of state.tokens) {
      /** Whether the link that is open leads nowhere, for each open link. */
      const isLeftOut: boolean[] = [];
      for (const token of children ?? []) {
        if (token.type === "link_close" && isLeftOut.pop()) token.hidden = true;
        if (token.type !== "link_open") continue;
        const href = addressOf(token.attrGet("href")!, from);
        isLeftOut.push(href === undefined);
        if (href === undefined) Object.assign(token, { type: "text", content: "", attrs: null });
        else token.attrSet("href", href);
      }
    }
  });
  const close = md.renderer.rules.link_close ?? ((tokens, i, options, _, self) => self.renderToken(tokens, i, options));
  md.renderer.rules.link_close = (tokens, i, ...more) => (tokens[i]!.hidden ? "" : close(tokens, i, ...more));

  function addressOf(href: string, from: string): string | undefined {
    if (/^(?:[a-z]+:|#|\/\/)/i.test(href)) return href;
    const [target = "", anchor] = href.split("#", 2);
    const path = posix.normalize(posix.join(from, decodeURI(target)));
    if (path === "./") return sourceUrl;
    const end = anchor === undefined ? "" : `#${anchor}`;
    if (isPage(path)) return urlOf(path) + end;
    return sourceUrl === undefined ? undefined : `${sourceUrl}/blob/main/${path}${end}`;
  }
}
