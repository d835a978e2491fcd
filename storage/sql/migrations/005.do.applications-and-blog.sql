-- Positions that users can apply for, their applications, and posts of the blog.
-- The positions below are a beginning: from here on they are the operator's data.

create table app_positions (
  id text primary key,
  ordinal integer not null,
  name text not null,
  info text not null default '',
  tags text[] not null default '{}',
  questions jsonb not null default '[]',
  closed boolean not null default false,
  hidden boolean not null default false,
  cooldown_hours integer not null default 0 check (cooldown_hours >= 0)
);

-- An application keeps the questions it answered, so that both stay readable when the position changes.
create table apps (
  app_id uuid primary key,
  user_id text not null,
  position text not null,
  questions jsonb not null,
  answers jsonb not null,
  state text not null default 'pending' check (state in ('pending', 'approved', 'denied')),
  review_feedback text not null default '',
  created_at timestamptz not null default now(),
  reviewed_at timestamptz
);
create unique index apps_pending on apps (user_id, position) where state = 'pending';
create index apps_user on apps (user_id, created_at desc, app_id);
create index apps_state on apps (state, created_at, app_id);

create table blog_posts (
  slug text primary key,
  title text not null,
  description text not null,
  content text not null,
  tags text[] not null default '{}',
  author_id text not null,
  draft boolean not null default false,
  created_at timestamptz not null default now()
);
create index blog_posts_published on blog_posts (created_at desc, slug) where not draft;

insert into app_positions (id, ordinal, name, info, tags, cooldown_hours, hidden, questions) values
('staff', 10, 'Staff',
  'Review new entries, answer people who need help and keep the place friendly.',
  '{Reviews,Support}', 48, false, '[
  {"id": "motivation", "question": "Why do you want to join the staff?", "short": false,
   "paragraph": "Tell us what draws you to this and what you hope to change.",
   "placeholder": "I want to join because …"},
  {"id": "experience", "question": "What have you done before that helps here?", "short": false,
   "paragraph": "Moderation, support, reviews, anything where you dealt with people and rules.",
   "placeholder": "For two years I have …"},
  {"id": "conflict", "question": "Somebody is angry because an entry was denied. What do you do?", "short": false,
   "paragraph": "There is no single right answer; tell us how you would think.",
   "placeholder": "First I would …"},
  {"id": "time", "question": "How many hours a week can you give, and in which time zone are you?", "short": true,
   "paragraph": "A rough number is enough.", "placeholder": "6 hours, UTC+1"}]'),
('qaqc', 20, 'Quality assurance',
  'Test what we build before everybody else does, and write down what breaks.',
  '{Testing,Quality}', 120, false, '[
  {"id": "motivation", "question": "Why do you want to test for us?", "short": false,
   "paragraph": "Tell us what you like about finding faults.", "placeholder": "I enjoy …"},
  {"id": "report", "question": "Describe a fault you found somewhere, as you would report it.", "short": false,
   "paragraph": "What you did, what you expected, what happened instead.",
   "placeholder": "1. Open … 2. Press … Expected: … Instead: …"},
  {"id": "devices", "question": "On which devices and browsers can you test?", "short": true,
   "paragraph": "A list is enough.", "placeholder": "Android phone, Firefox and Chrome on Linux"}]'),
('dev', 30, 'Developer',
  'Work on the software behind this directory.',
  '{Code}', 48, false, '[
  {"id": "experience", "question": "What have you built?", "short": false,
   "paragraph": "Languages, sizes, and which part was yours.", "placeholder": "I wrote …"},
  {"id": "proud", "question": "Which piece of your work are you proud of, and why?", "short": false,
   "paragraph": "What was hard about it, and how did you solve it?", "placeholder": "The hard part was …"},
  {"id": "links", "question": "Where can we see code of yours?", "short": true,
   "paragraph": "Addresses of public repositories; \"none\" is fine too.",
   "placeholder": "https://example.org/me/project"},
  {"id": "time", "question": "How many hours a week can you give?", "short": true,
   "paragraph": "A rough number is enough.", "placeholder": "5"}]'),
('partners', 40, 'Partner',
  'Join forces with us: for projects and communities with aims like ours.',
  '{Partnership}', 0, false, '[
  {"id": "project", "question": "What is your project?", "short": false,
   "paragraph": "What it does, for whom, and since when.", "placeholder": "We run …"},
  {"id": "idea", "question": "What should we do together?", "short": false,
   "paragraph": "What each side would do, and what each would gain.", "placeholder": "You could …, and we would …"},
  {"id": "link", "question": "Where can we find it?", "short": true,
   "paragraph": "An address or an invite.", "placeholder": "https://example.org"}]'),
('resubmit', 50, 'Resubmission',
  'Ask for another look at a bot that was denied, once the reasons are gone.',
  '{Bots}', 0, true, '[
  {"id": "bot_id", "question": "Which bot? Its id.", "short": true,
   "paragraph": "The bot must have been denied, and you must be allowed to resubmit it.",
   "placeholder": "815553000470478850"},
  {"id": "changes", "question": "What has changed since it was denied?", "short": false,
   "paragraph": "Go through the reasons you were given, one by one.", "placeholder": "The command that failed now …"}]'),
('banappeal', 60, 'Ban appeal',
  'For users who were banned and think that this should end.',
  '{Appeal}', 0, true, '[
  {"id": "reason", "question": "Why were you banned?", "short": false,
   "paragraph": "In your own words, as you understand it.", "placeholder": "I was banned because …"},
  {"id": "appeal", "question": "Why should the ban be lifted?", "short": false,
   "paragraph": "What has changed, and what will be different from now on.", "placeholder": "I have since …"}]'),
('certification', 70, 'Certification',
  'A mark for bots that are well made, well kept and well used.',
  '{Bots}', 0, true, '[
  {"id": "bot_id", "question": "Which bot? Its id.", "short": true,
   "paragraph": "It must be approved, be in 100 servers or more and have had 30 different visitors or more.",
   "placeholder": "815553000470478850"},
  {"id": "quality", "question": "What makes this bot stand out?", "short": false,
   "paragraph": "What it does better than others, and how you keep it running.",
   "placeholder": "It is the only one that …"},
  {"id": "privacy", "question": "Which data does the bot keep, and for how long?", "short": false,
   "paragraph": "Say it as you would to somebody who uses it.", "placeholder": "It keeps …"}]');
