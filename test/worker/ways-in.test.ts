// The promises of all ways in that run in workerd, in workerd.

import { describeWays } from "../adapters/promises.ts";
import { FETCH_WAYS } from "../support/ways/fetch-ways.ts";

describeWays(FETCH_WAYS);
