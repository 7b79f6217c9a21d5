// In Node: the gateway, withRateLimit, Hono, and Express on real sockets give the same answers. What is only of one of
// them is in hono.test.ts and express.test.ts. A service binding takes no request: test/gateway/service.test.ts.

import { EXPRESS } from "../support/ways/express-way.ts";
import { FETCH_WAYS } from "../support/ways/fetch-ways.ts";
import { describeWays } from "./promises.ts";

describeWays([...FETCH_WAYS, EXPRESS]);
