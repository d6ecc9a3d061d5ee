-- A database as one finds it: 40 tables that hold rows of their own, in four schemas, and what stands around them.
create schema hr;
create schema "Sales Dept";
create schema archive;
create type public.mood as enum ('sad', 'ok', 'happy');
create domain public.email as text check (value like '%@%');

-- public: 20 tables
create table public.customers (
  id bigint generated always as identity primary key, name text not null, mail public.email, mood public.mood default 'ok',
  born date, balance numeric(12, 2) not null default 0 check (balance > -1000), tags text[], notes jsonb,
  name_length int generated always as (length(name)) stored);
comment on table public.customers is 'Who buys; "quoted", with a ''quote''';
comment on column public.customers.born is 'local date';
insert into public.customers (name, mail, mood, born, balance, tags, notes)
select 'Customer ' || n, 'c' || n || '@example.org', (array['sad', 'ok', 'happy']::public.mood[])[1 + n % 3],
  case when n % 7 > 0 then date '1950-01-01' + n end, n * 1.01 - 5,
  case when n % 5 = 0 then null when n % 5 = 1 then '{}' else array['a' || n, null, 'with "quote", comma'] end,
  case when n % 4 > 0 then jsonb_build_object('n', n, 'text', E'line\nbreak', 'list', jsonb_build_array(1, null, 'é')) end
from generate_series(1, 500) n;

create table public.products (
  sku varchar(20) primary key, title varchar(200) not null, price numeric not null, weight double precision,
  ratio real, picture bytea, active boolean not null default true, made timestamp, unique (title, price));
create index products_active on public.products (active);
insert into public.products
select 'SKU-' || lpad(n::text, 5, '0'), 'Product Ünïcode ' || n, case n % 4 when 0 then n when 1 then n / 3.0 else 1e-20 * n end,
  n / 7.0, (n / 3.0)::real, case when n % 3 > 0 then decode(lpad(to_hex(n), 8, '0'), 'hex') end, n % 2 = 0,
  timestamp '2024-02-29 12:34:56.789012' + n * interval '1 hour'
from generate_series(1, 300) n;

create table public.orders (
  id bigint primary key, customer_id bigint not null references public.customers (id),
  ordered_at timestamptz not null, total numeric(14, 4), status text not null default 'new');
create index orders_customer on public.orders (customer_id);
insert into public.orders
select n, 1 + n % 500, timestamptz '2023-01-01 00:00:00+00' + n * interval '97 seconds', n * 0.0137, 'done'
from generate_series(1, 300000) n;

create table public.order_lines (
  order_id bigint references public.orders (id), line_no int, sku varchar(20) references public.products (sku),
  quantity int not null check (quantity > 0), primary key (order_id, line_no));
insert into public.order_lines
select 1 + n / 3, n % 3, 'SKU-' || lpad((1 + n % 300)::text, 5, '0'), 1 + n % 9 from generate_series(0, 8999) n;

create table public.employees (id int primary key, name text);
insert into public.employees select n, 'public ' || n from generate_series(1, 10) n;

create table public."Mixed Case" ("Id" int primary key, "Some Value" text, "quo""te" int, "dot.ted" int, "select" text);
insert into public."Mixed Case" select n, 'v' || n, n * 2, n * 3, 'word' from generate_series(1, 20) n;
create table public."dot.ted" (id int primary key, v text);
insert into public."dot.ted" select n, 'dot ' || n from generate_series(1, 15) n;
create table public."we""ird" (id int primary key, v text);
insert into public."we""ird" values (1, 'a'), (2, null), (3, '');
create table public."with blank" (id int primary key, v text);
insert into public."with blank" select n, 'blank ' || n from generate_series(1, 12) n;

create table public.audit_log (at timestamptz not null default now(), what text, who inet);
insert into public.audit_log
select timestamptz '2024-05-05 05:05:05.000001+02' + n * interval '1 minute', 'what ' || n, ('10.0.' || n % 250 || '.1')::inet
from generate_series(1, 400) n;
insert into public.audit_log select * from public.audit_log limit 1;
create table public.measurements (sensor int, value double precision);
insert into public.measurements values (1, 1.5), (1, 1.5), (2, 'NaN'), (3, 'Infinity'), (4, '-Infinity'), (5, null), (6, 1e300);
create table public.empty_keyed (id int primary key, v text);
create table public.empty_keyless (v text, n numeric(5, 1));
create table public.no_columns ();
create table public.times (
  id int primary key, d date, t time, tz timetz, ts timestamp, tstz timestamptz, i interval, y timestamp(0));
insert into public.times values
  (1, '2024-02-29', '23:59:59.999999', '12:00:00+02', '1969-12-31 23:59:59.5', '2024-06-30 12:00:00+05:30', '1 year 2 mons 3 days 04:05:06.5', '2024-01-01 00:00:01'),
  (2, '0001-01-01', '00:00:00', '00:00:00-11', '1000-01-01 00:00:00', '1970-01-01 00:00:00+00', '-3 days', null),
  (3, null, null, null, null, null, null, null);
create table public.money_table (id int primary key, price money, paid money not null);
insert into public.money_table values (1, '12.34', '-0.01'), (2, null, '92233720368547758.07');
create table public.numbers (
  id int primary key, s smallint, b bigint, n38 numeric(38, 10), n60 numeric(60, 20), unbound numeric, r real, d double precision);
insert into public.numbers values
  (1, 32767, 9223372036854775807, 1234567890123456789012345678.0123456789, 1234567890123456789012345678901234567890.01234567890123456789, 1e100, 3.4e38, 1.7976931348623157e308),
  (2, -32768, -9223372036854775808, -0.0000000001, 0, 0.000000000000000000000000000001, 1e-37, 5e-324),
  (3, 0, 0, 0, 0, 0, 0, 0), (4, null, null, null, null, null, null, null);
create table public.arrays (id int primary key, i int[], t text[], n numeric(10, 3)[], ts timestamp[], b boolean[]);
insert into public.arrays values
  (1, '{1,2,null}', '{"a b","","null",null}', '{1.5,-2.250}', '{"2024-01-01 01:02:03.000004"}', '{t,f,null}'),
  (2, '{}', null, '{}', null, '{}'), (3, null, '{}', null, '{}', null);
create table public.documents (id uuid primary key, body json, meta jsonb, page xml, bits bit(8), area point);
insert into public.documents values
  ('00000000-0000-0000-0000-000000000001', '{"a": 1,  "b": [1, 2]}', '{"a": 1}', '<a>b</a>', B'10101010', '(1,2)'),
  ('00000000-0000-0000-0000-000000000002', null, null, null, null, null);
create table public.unique_only (code text unique not null, label text, maybe text unique);
insert into public.unique_only select 'c' || n, 'label ' || n, case when n % 2 = 0 then 'm' || n end from generate_series(1, 30) n;

-- hr: 8 tables, three of them with names that public has too
create table hr.employees (id int primary key, name text, manager int references hr.employees (id), hired date default current_date);
insert into hr.employees select n, 'hr ' || n, case when n > 1 then n / 2 end, date '2020-01-01' + n from generate_series(1, 60) n;
create table hr.orders (id bigint primary key, what text not null);
insert into hr.orders select n, 'hr order ' || n from generate_series(1, 25) n;
create table hr.documents (id int primary key, title text, body text);
insert into hr.documents values (1, 'long', repeat('x', 100000)), (2, E'tab\tand\nnew line \\ back', 'é ü 漢字 🙂'), (3, '', null);
create table hr.salaries (employee int, valid_from date, amount numeric(10, 2) not null, primary key (employee, valid_from));
insert into hr.salaries select 1 + n % 60, date '2020-01-01' + n, n * 10.25 from generate_series(1, 600) n;
create table hr.skills (id int generated by default as identity primary key, name text unique);
insert into hr.skills (name) select 'skill ' || n from generate_series(1, 40) n;
create table hr.employee_skills (
  employee int references hr.employees (id) on delete cascade, skill int references hr.skills (id), primary key (employee, skill));
insert into hr.employee_skills select 1 + n % 60, 1 + n % 40 from generate_series(1, 100) n;
create table hr.secret_reviews (id int primary key, review text);
insert into hr.secret_reviews values (1, 'not for everyone');
create table hr.leave (id serial primary key, employee int, during daterange, days int4range);
insert into hr.leave (employee, during, days) values (1, '[2024-01-01,2024-01-10)', '[1,5)'), (2, 'empty', null), (3, '(,2024-01-01)', '[7,)');

-- Sales Dept: 7 tables, one of them in partitions
create table "Sales Dept".events (id bigint, day date not null, kind text, payload jsonb, primary key (id, day)) partition by range (day);
create table "Sales Dept".events_2023 partition of "Sales Dept".events for values from ('2023-01-01') to ('2024-01-01');
create table "Sales Dept".events_2024 partition of "Sales Dept".events for values from ('2024-01-01') to ('2025-01-01');
create table "Sales Dept".events_rest partition of "Sales Dept".events default;
insert into "Sales Dept".events
select n, date '2023-06-01' + n % 900, 'kind ' || n % 3, jsonb_build_object('n', n) from generate_series(1, 3000) n;
create table "Sales Dept"."Order" ("ID" int primary key, "Total €" numeric(8, 2));
insert into "Sales Dept"."Order" select n, n + 0.5 from generate_series(1, 9) n;
create table "Sales Dept".regions (code char(3) primary key, name varchar(50));
insert into "Sales Dept".regions values ('N', 'North'), ('SW ', 'South west'), ('EAS', null);
create table "Sales Dept".customers (id int primary key, region char(3) references "Sales Dept".regions (code));
insert into "Sales Dept".customers select n, case when n % 2 = 0 then 'N' end from generate_series(1, 8) n;
create table "Sales Dept".leads (source text, score numeric(4, 1), seen timestamptz);
insert into "Sales Dept".leads select 'source ' || n % 5, n / 10.0, timestamptz '2024-03-31 01:30:00+01' + n * interval '30 minutes' from generate_series(1, 77) n;
create table "Sales Dept".quotas (region char(3), year int, amount bigint, note text, primary key (region, year));
insert into "Sales Dept".quotas select 'R' || n % 10, 2000 + n, n * 1000000000::bigint, null from generate_series(1, 20) n;
create table "Sales Dept"."per cent % and & more" (id int primary key, v text);
insert into "Sales Dept"."per cent % and & more" values (1, '%s'), (2, '&amp;');

-- archive: 5 tables, one that another inherits from
create table archive.base (id int primary key, label text);
insert into archive.base select n, 'base ' || n from generate_series(1, 5) n;
create table archive.child (extra text, primary key (id)) inherits (archive.base);
insert into archive.child select n, 'child ' || n, 'extra ' || n from generate_series(101, 104) n;
create table archive.orders (id bigint primary key, total numeric(14, 4));
insert into archive.orders select n, n * 1.0001 from generate_series(1, 50) n;
create table archive.flags (id int primary key, f boolean, c "char", bits varbit, mac macaddr, net cidr);
insert into archive.flags values (1, true, 'x', B'101', '08:00:2b:01:02:03', '192.168.0.0/16'), (2, false, null, null, null, null);
create unlogged table archive.scratch (n int, t text);
insert into archive.scratch select n % 3, 't' from generate_series(1, 21) n;

create view public.good_customers as select id, name from public.customers where balance > 0;
create view hr.headcount as select count(*) as n from hr.employees;
create materialized view public.totals as select customer_id, sum(total) as total from public.orders group by 1;

-- the user that reads may read all of it but one table
grant usage on schema public, hr, "Sales Dept", archive to reader;
grant select on all tables in schema public, hr, "Sales Dept", archive to reader;
revoke select on hr.secret_reviews from reader;
