import pg from "pg";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ledgerContract, type Subject } from "./contract.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "./postgres-server.ts";
import { settlementContract } from "./settlement-contract.ts";

const programs = postgresPrograms();

test.runIf(programs === undefined)(
  "PostgreSQL is not installed here: its half of the ledger's tests is left out",
  ({ skip }) => skip(),
);

describe.skipIf(programs === undefined)("with a server", () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres(programs ?? "");
  });
  afterAll(() => server.remove());

  const prepare = async (): Promise<Subject> => {
    const url = server.createDatabase(`ledger_${databases++}`);
    return {
      url,
      tamper: async (sql) => {
        const client = new pg.Client(url);
        await client.connect();
        await client.query(sql);
        await client.end();
      },
    };
  };
  ledgerContract("a ledger in PostgreSQL", prepare);
  settlementContract("settling in PostgreSQL", prepare);
});
