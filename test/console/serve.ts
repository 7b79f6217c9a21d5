// `npm run dev:console`: the console over the fake gateway, with traffic that moves, until Ctrl-C.

import { startFakeGateway, TOKEN } from "./fake-gateway.ts";

const { url } = await startFakeGateway();
console.log(`${url}/.headgate/console   token: ${TOKEN}`);
