/** The formats that replay reads. The first one that recognizes a line reads the file. */

import type { Format } from "./format.ts";
import { combined } from "./formats/combined.ts";
import { headgate } from "./formats/headgate.ts";
import { logpush } from "./formats/logpush.ts";

export const FORMATS: readonly Format[] = [headgate, logpush, combined];
export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);
