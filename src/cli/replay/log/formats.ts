/** The formats that replay reads. The first one that recognizes a line reads the file. */

import type { Format } from "./format.ts";
import { cloudfront } from "./formats/cloudfront.ts";
import { combined } from "./formats/combined.ts";
import { headgate } from "./formats/headgate.ts";
import { logpush } from "./formats/logpush.ts";

export const FORMATS: readonly Format[] = [headgate, logpush, cloudfront, combined];
