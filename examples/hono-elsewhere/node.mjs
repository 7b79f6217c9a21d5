import { serve } from "@hono/node-server";
import { app } from "./app.mjs";

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8787) }, () => console.log("listening"));
