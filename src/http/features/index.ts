/** All features, for the gateway: it does not know which ones its policies will use. */

import type { Feature } from "../feature.ts";
import { body } from "./body.ts";
import { DEFAULTS } from "./default.ts";
import { meter, providerErrors } from "./meter.ts";
import { rpc } from "./rpc/rpc.ts";

/** What only limiters with language models and JSON-RPC need. */
export const OPTIONAL: readonly Feature[] = [body, meter, providerErrors, rpc];

export const FEATURES: readonly Feature[] = [...DEFAULTS, ...OPTIONAL];
