import { app } from "./app.mjs";

Bun.serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8787) });
console.log("listening");
