// The stories of missed.ts notice each mending that is taken out again.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { PLANTED } from "./planted.ts";

const SCRIPT = fileURLToPath(new URL("planted.ts", import.meta.url));

// Each in a process of its own: its sources are replaced while they load.
it.each(PLANTED)(
  "$name",
  async ({ name }) => {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, name]);
    expect(stdout).toMatch(/are held, .* were paid/);
  },
  120_000,
);
