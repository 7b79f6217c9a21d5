import { app } from "./app.mjs";

Deno.serve({ port: Number(Deno.env.get("PORT") ?? 8787), onListen: () => console.log("listening") }, app.fetch);
