/** A worker of scripts/simulate/pool.ts for the runs of `npm run docs:scale`. */

import { serve } from "../pool.ts";
import { simulateScale } from "./run.ts";

// An overloaded object makes hundreds of thousands of errors, and nobody reads their stacks.
Error.stackTraceLimit = 0;
serve(simulateScale);
