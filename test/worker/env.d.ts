// Bindings and provided values of the tests inside workerd.

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      mainModule: typeof import("../../src/worker.ts");
    }
  }
}

declare module "vitest" {
  // The same as in test/support/redis/redis-setup.ts, which runs in Node and cannot be imported here.
  export interface ProvidedContext {
    redisUrl: string;
    restUrl: string;
    restToken: string;
  }
}

export {};
