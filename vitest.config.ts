import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Programs are started and real sockets opened: generous, so that a busy machine fails nothing.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
  },
});
