/** A worker of scripts/simulate/pool.ts for the runs of `npm run simulate`. */

import { serve } from "./pool.ts";
import { simulate } from "./run.ts";

serve(simulate);
