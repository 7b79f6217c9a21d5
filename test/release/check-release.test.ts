// What publish.yml asks before it tests and publishes a tag.

import { expect, it } from "vitest";
import { publishOptions, releaseMistakes } from "../../scripts/check/check-release.ts";

const CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-31\n\n## [1.1.0] - not published yet\n";
const PAGES = { "README.md": "Install it from npm." };

it("lets a tag pass that is the version, with a date in the changelog", () => {
  expect(releaseMistakes("v1.2.0", "1.2.0", CHANGELOG, PAGES)).toEqual([]);
});

it.each([
  ["another tag", "v1.2.1", "1.2.0", "expected the tag v1.2.0, the version of package.json; found v1.2.1"],
  ["no date", "v1.1.0", "1.1.0", "in CHANGELOG.md; found ## [1.1.0] - not published yet"],
  ["no heading", "v1.3.0", "1.3.0", "in CHANGELOG.md; found no such heading"],
])("refuses %s", (_what, tag, version, mistake) => {
  const mistakes = releaseMistakes(tag, version, CHANGELOG, PAGES);
  expect(mistakes).toEqual([expect.stringContaining(mistake)]);
});

it("refuses a page that says that nothing is published yet", () => {
  const pages = { ...PAGES, "docs/cli.md": "The first version is about to be published." };
  expect(releaseMistakes("v1.2.0", "1.2.0", CHANGELOG, pages)).toEqual([
    "docs/cli.md says that the first version is about to be published: remove the sentence",
  ]);
});

it("publishes a candidate as `next`, and leaves npm's own choice to all others", () => {
  expect([publishOptions("1.0.0-rc.1"), publishOptions("1.0.0")]).toEqual(["--tag next", ""]);
});
