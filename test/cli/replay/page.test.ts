// The page of a report, as text.

import { expect, it } from "vitest";
import { renderReport } from "../../../src/cli/replay/report/page.ts";
import { requests, run } from "./logs.ts";

const API = { name: "api", limits: [{ limit: 10, window: "1m" }] };

it("draws nothing that is no number, also of an empty log", async () => {
  for (const entries of [[], requests(1), requests(30)]) {
    expect(renderReport(await run(entries, [API])).match(/NaN|Infinity|undefined/)).toBeNull();
  }
});

it("escapes what comes from logs and files", async () => {
  const bad = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&`;
  const summary = await run(requests(12), [API], [API]);
  const configurations = summary.configurations.map((one) => ({
    ...one,
    name: bad,
    skipped: [{ policy: bad, reason: bad, mode: undefined }],
  }));
  const page = renderReport({ ...summary, configurations, notes: [bad] });
  expect(page.split("&#60;script&#62;").length).toBeGreaterThan(8);
  expect(page.match(/<script|<img|onerror='/)).toBeNull();
});
