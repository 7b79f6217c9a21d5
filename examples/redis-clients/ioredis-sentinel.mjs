import { redisStore } from "headgate";
import { Redis } from "ioredis";

const redis = new Redis({
  sentinels: [{ host: "127.0.0.1", port: 26379 }],
  name: "mymaster",
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: 5_000,
});
redis.on("error", (error) => console.error(error.message));

export const store = redisStore({
  command: ([name, ...args]) => redis.call(name, ...args),
  keySecret: process.env.KEY_SECRET ?? "",
  reconnect: () => redis.disconnect(true),
});
