import { type Database, numberOf, RefusedError } from "./database.ts";

/** One step of the schema, never changed once released. */
interface Migration {
  /** What it brings, for people who read the code. */
  readonly brings: string;
  /** In PostgreSQL's words; SQLite's are derived (`inDialect`). */
  readonly sql: string;
}

/** Every step, in order: the schema's number is how many were made. */
const MIGRATIONS: readonly Migration[] = [
  {
    brings: "events in chains, their writers, signed checkpoints, policies by hash, gaps",
    sql: `
      create table events (
        id text not null,
        ts text not null,
        request_id text,
        site_id text,
        host text not null,
        method text not null,
        path text not null,
        raw_path text,
        query text,
        reading text,
        ip text,
        user_agent text,
        bot_id text not null,
        bot_class text not null,
        bot_operator text,
        claimed boolean not null,
        verified boolean not null,
        verification text not null,
        evidence json,
        action text not null,
        rule_id text not null,
        reason text,
        status bigint not null,
        mode text,
        enforced boolean not null,
        would_block boolean not null,
        shadowed json not null,
        faults json not null,
        tags json not null,
        price_amount text,
        price_currency text,
        price_unit text,
        receipt_id text,
        receipt text,
        policy_hash text,
        duration_us bigint not null,
        writer_id text not null,
        seq bigint not null,
        prev_hash text not null,
        hash text not null,
        hash_version bigint not null
      );
      create unique index events_by_id on events (id);
      create unique index events_by_chain on events (writer_id, seq);
      create index events_by_time on events (ts, writer_id, seq);
      create table writers (
        writer_id text not null primary key,
        site_id text,
        seq bigint not null,
        hash text not null,
        since text not null
      );
      create table checkpoints (
        writer_id text not null,
        seq bigint not null,
        at text not null,
        jws text not null,
        primary key (writer_id, seq, at)
      );
      create table policies (
        hash text not null primary key,
        site_id text not null,
        document text not null,
        since text not null
      );
      create table gaps (
        instance text not null,
        at text not null,
        dropped bigint not null,
        rejected bigint not null
      );`,
  },
  {
    brings: "counts by the hour, which reports are added up from and which outlive the events",
    sql: `
      create table hourly_decisions (
        hour text not null,
        site_id text not null,
        bot_id text not null,
        bot_class text not null,
        verification text not null,
        action text not null,
        rule_id text not null,
        reason text not null,
        status bigint not null,
        enforced boolean not null,
        would_block boolean not null,
        price_amount text not null,
        price_currency text not null,
        requests bigint not null,
        primary key (hour, site_id, bot_id, bot_class, verification, action, rule_id, reason,
          status, enforced, would_block, price_amount, price_currency)
      );
      create table hourly_paths (
        hour text not null,
        site_id text not null,
        path text not null,
        requests bigint not null,
        blocked bigint not null,
        would_block bigint not null,
        primary key (hour, site_id, path)
      );
      create table hourly_rules (
        hour text not null,
        site_id text not null,
        kind text not null,
        rule_id text not null,
        action text not null,
        status bigint not null,
        requests bigint not null,
        primary key (hour, site_id, kind, rule_id, action, status)
      );
      insert into hourly_decisions
        select substr(ts, 1, 13), coalesce(site_id, ''), bot_id, bot_class, verification, action,
          rule_id, coalesce(reason, ''), status, enforced, would_block,
          coalesce(price_amount, ''), coalesce(price_currency, ''), count(*)
        from events group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13;
      insert into hourly_paths
        select substr(ts, 1, 13), coalesce(site_id, ''), path, count(*),
          sum(case when status >= 400 then 1 else 0 end), sum(case when would_block then 1 else 0 end)
        from events group by 1, 2, 3;`,
  },
  {
    brings: "crawl-delay audits, and the bodies they saw, once for each hash",
    sql: `
      create table robots_bodies (
        sha256 text not null primary key,
        body bytea not null,
        since timestamptz not null
      );
      create table crawl_delay_audits (
        host text not null,
        rate_limit_required boolean not null,
        robots_status_code integer,
        has_robots_file boolean not null,
        effective_user_agent text,
        crawl_delay_raw text,
        crawl_delay_seconds numeric,
        has_valid_crawl_delay boolean not null,
        crawl_delay_violation boolean not null,
        parser_error_code text,
        checked_at timestamptz not null,
        scheme text not null,
        audited_agent text not null,
        content_type text,
        response_size integer,
        response_bytes integer,
        body_sha256 text,
        final_url text,
        redirects json not null,
        attempts integer not null,
        error_class text,
        error_detail text,
        line integer,
        warnings json not null
      );
      create index crawl_delay_audits_by_host on crawl_delay_audits (host, checked_at);`,
  },
  {
    brings: "what became of metered requests, and the way to find them",
    sql: `
      create table settlements (
        event_id text not null,
        state text not null,
        upstream_status bigint,
        bytes bigint,
        at text not null
      );
      create unique index settlements_by_event on settlements (event_id, (state = 'unmatched'));
      create index metered_by_request on events (request_id) where action = 'allow_metered';
      create index metered_by_time on events (ts, id) where action = 'allow_metered';`,
  },
];

/** The schema that this version writes. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

/**
 * Brings a ledger to this version's schema, all steps or none; throws `RefusedError` for a newer
 * one. Instances that start together wait for each other.
 */
export async function migrate(database: Database, version: number = SCHEMA_VERSION): Promise<void> {
  await prepareVersion(database);
  await database.transaction(async () => {
    if (database.engine === "postgres") {
      await database.run("lock table ledger_schema in exclusive mode");
    }
    const found = await readVersion(database);
    refuseNewer(found);
    for (const migration of MIGRATIONS.slice(found, version)) {
      await database.execute(inDialect(database.engine, migration.sql));
    }
    if (found < version) await writeVersion(database, version);
  });
}

/** Throws `RefusedError` unless the ledger has exactly this version's schema; changes nothing. */
export async function checkSchema(database: Database): Promise<void> {
  const found = await readVersion(database);
  refuseNewer(found);
  if (found < SCHEMA_VERSION) {
    throw new RefusedError(
      `the ledger has schema ${found}, this version reads ${SCHEMA_VERSION}; start \`crawlwall serve\` once, which brings it forward`,
    );
  }
}

function refuseNewer(found: number): void {
  if (found > SCHEMA_VERSION) {
    throw new RefusedError(
      `the ledger has schema ${found}, newer than ${SCHEMA_VERSION}, the newest that this version knows; upgrade crawlwall`,
    );
  }
}

async function prepareVersion(database: Database): Promise<void> {
  if (database.engine === "sqlite") return;
  // Two at once may both find it missing; the loser's next try finds it.
  await database.execute("create table if not exists ledger_schema (version bigint not null)");
}

async function readVersion(database: Database): Promise<number> {
  if (database.engine === "sqlite") {
    const [row] = await database.all("pragma user_version");
    return row === undefined ? 0 : numberOf(row, "user_version");
  }
  const [table] = await database.all("select to_regclass('ledger_schema') is not null as found");
  if (table?.found !== true) return 0;
  const [row] = await database.all("select max(version) as version from ledger_schema");
  return row === undefined ? 0 : numberOf(row, "version");
}

async function writeVersion(database: Database, version: number): Promise<void> {
  if (database.engine === "sqlite") return database.execute(`pragma user_version = ${version}`);
  await database.run("insert into ledger_schema (version) values ($1)", [version]);
}

/**
 * One schema in two dialects. SQLite's tables are strict, with integers for booleans; PostgreSQL's
 * texts sort by bytes, as times and ids need it.
 */
function inDialect(engine: Database["engine"], sql: string): string {
  if (engine === "postgres") return sql.replace(/\btext\b/g, 'text collate "C"');
  return sql
    .replace(/\b(?:bigint|boolean)\b/g, "integer")
    .replace(/\b(?:json|timestamptz)\b/g, "text")
    .replace(/\bbytea\b/g, "blob")
    .replace(/\bnumeric\b/g, "real")
    .replace(/^ {6}\);/gm, ") strict;");
}
