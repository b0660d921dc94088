-- How the checkout pages of an account look. Null: its name alone.
alter table gateway.accounts
  add column display_name text check (length(display_name) between 1 and 200),
  add column logo_url text check (length(logo_url) <= 2048 and logo_url ~ '^https://'),
  add column accent_color text collate "C" check (accent_color ~ '^#[0-9a-f]{6}$');
