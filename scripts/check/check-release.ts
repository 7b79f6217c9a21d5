/**
 * `npm run release:check -- v1.2.3`: whether this clone can be published under the tag. Prints the options of
 * `npm publish` as `options=…`, a line for `$GITHUB_OUTPUT`. .github/workflows/publish.yml runs it before the packages
 * are installed: it imports nothing.
 */

import { readFileSync } from "node:fs";

/** The line that goes with the first version, and the pages that have it. */
const NOT_YET = "about to be published";
const PAGES = ["README.md", "docs/start/first-429.md", "docs/library.md", "docs/cli.md"];

/** What is wrong with a release, in words. @param pages their texts by their names. */
export function releaseMistakes(
  tag: string,
  version: string,
  changelog: string,
  pages: Readonly<Record<string, string>>,
): string[] {
  const [heading = ""] = changelog.split("\n").filter((line) => line.startsWith(`## [${version}]`));
  const stale = Object.keys(pages).filter((name) => pages[name]!.includes(NOT_YET));
  return [
    ...(tag === `v${version}` ? [] : [`expected the tag v${version}, the version of package.json; found ${tag}`]),
    ...(/\] - \d{4}-\d\d-\d\d$/.test(heading)
      ? []
      : [`expected "## [${version}] - <year>-<month>-<day>" in CHANGELOG.md; found ${heading || "no such heading"}`]),
    ...stale.map((name) => `${name} says that the first version is ${NOT_YET}: remove the sentence`),
  ];
}

/**
 * A candidate goes to `next`, so that `npm install headgate` keeps the last version that is no candidate. Without a
 * tag npm takes `latest`, and refuses a version that is older than the newest: a fix of an older major version.
 */
export function publishOptions(version: string): string {
  return version.includes("-") ? "--tag next" : "";
}

if (import.meta.main) {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const pages = Object.fromEntries(PAGES.map((name) => [name, read(name)]));
  const mistakes = releaseMistakes(process.argv[2] ?? "no tag", version, read("CHANGELOG.md"), pages);
  for (const mistake of mistakes) console.error(mistake);
  if (mistakes.length > 0) process.exitCode = 1;
  else console.log(`options=${publishOptions(version)}`);
}
