"""Other correct ways to write the TODO of lesson 00, which the checks must accept."""

from lessons._build.answers import right

right("nanmean", todo_1="mean = rewards.nanmean()")

right("sum_over_count", todo_1="""
      scored = torch.logical_not(torch.isnan(rewards))
      mean = rewards.nan_to_num(0.0).sum() / scored.sum()
      """)

right("where", todo_1="""
      scored = rewards == rewards
      mean = torch.where(scored, rewards, 0.0).sum() / scored.float().sum()
      """)

right("masked_select_in_float64", todo_1="""
      scored = ~rewards.isnan()
      mean = torch.masked_select(rewards, scored).double().mean()
      """)

right("finite", todo_1="""
      scored = rewards.isfinite()
      mean = rewards[scored].sum() / scored.sum()
      """)

right("loop", todo_1="""
      total, count = 0.0, 0
      for reward in rewards:
          if not torch.isnan(reward):
              total, count = total + reward, count + 1
      mean = total / count if count else torch.tensor(float("nan"))
      """)

right("python_number", todo_1="""
      known = [reward for reward in rewards.tolist() if reward == reward]
      mean = sum(known) / len(known) if known else float("nan")
      """)

right("copy_then_overwrite", todo_1="""
      scored = ~rewards.isnan()
      filled = rewards.clone()
      filled[~scored] = 0.0
      mean = filled.sum() / scored.sum()
      """)
