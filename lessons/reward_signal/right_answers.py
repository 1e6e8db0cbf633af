"""Other correct ways to write the TODOs of lesson reward signal, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: combine_reward_components

right("where_then_sum", todo_1="""
      absent = torch.isnan(components)
      rewards = torch.where(absent, 0.0, components * weights).sum(dim=-1)
      unscored = absent.all(-1) if missing == "skip" else absent.any(-1)
      rewards = torch.where(unscored, math.nan, rewards)
      """)

right("loop_in_python", todo_1="""
      sums = []
      for row in components.tolist():
          present = [w * c for w, c in zip(weights.tolist(), row) if c == c]
          needed = 1 if missing == "skip" else len(row)
          sums.append(sum(present) if len(present) >= needed else float("nan"))
      rewards = torch.tensor(sums, dtype=components.dtype)
      """)

right("matrix_product", todo_1="""
      present = ~components.isnan()
      rewards = components.nan_to_num(nan=0.0) @ weights.to(components.dtype)
      enough = present.any(dim=1) if missing == "skip" else present.all(dim=1)
      rewards[~enough] = float("nan")
      """)

right("plain_sum_propagates_by_itself", todo_1="""
      weighted = weights * components
      if missing == "propagate":
          rewards = weighted.sum(dim=1)
      else:
          rewards = weighted.nansum(dim=1)
          rewards[components.isnan().all(dim=1)] = torch.nan
      """)

right("mean_times_count", todo_1="""
      present = (~components.isnan()).sum(dim=1)
      needed = 1 if missing == "skip" else components.shape[1]
      rewards = (components * weights).nanmean(dim=1) * present
      rewards = rewards.masked_fill(present < needed, float("nan"))
      """)

right("one_component_after_another", todo_1="""
      rewards = torch.zeros(len(components), dtype=torch.float64)
      count = torch.zeros(len(components), dtype=torch.int64)
      for weight, column in zip(weights, components.T):
          known = ~column.isnan()
          rewards[known] += weight * column[known].double()
          count += known
      rewards[count < (1 if missing == "skip" else components.shape[1])] = math.nan
      """)

right("einsum", todo_1="""
      clean = components.nan_to_num()
      rewards = torch.einsum("nk,k->n", clean, weights.to(clean.dtype))
      absent = components.isnan().sum(dim=1)
      limit = components.shape[1] if missing == "skip" else 1
      rewards = rewards + torch.where(absent >= limit, math.nan, 0.0)
      """)

right("fill_and_multiply", todo_1="""
      filled = components.clone()
      filled[components.isnan()] = 0
      rewards = filled.mul(weights).sum(1)
      for i, row in enumerate(components):
          lost = row.isnan()
          if lost.all() or (missing == "propagate" and lost.any()):
              rewards[i] = float("nan")
      """)

right("weights_of_the_present", todo_1="""
      present = components == components
      rewards = torch.where(present, components, 0) @ weights.to(components.dtype)
      needed = {"skip": 1, "propagate": components.shape[1]}[missing]
      rewards = torch.where(present.sum(-1) >= needed, rewards, torch.full_like(rewards, math.nan))
      """)

right("list_comprehension", todo_1="""
      rewards = torch.stack([
          (row * weights)[~row.isnan()].sum() if (~row.isnan()).sum() >= (1 if missing == "skip" else len(row))
          else torch.tensor(math.nan) for row in components])
      """)

right("nan_added_back", todo_1="""
      total = torch.nansum(torch.einsum("nk,k->nk", components, weights.to(components.dtype)), dim=-1)
      lost = components.isnan().float().mean(dim=-1)
      bad = lost > 0 if missing == "propagate" else lost == 1
      rewards = total + torch.zeros_like(total).masked_fill(bad, math.nan)
      """)

right("product_without_a_cast", todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = components.nan_to_num(0.0) @ weights
      rewards[unscored] = math.nan
      """)

# TODO 2: discounted_returns

right("recursion_with_where", todo_2="""
      later = torch.zeros_like(rewards[:, 0])
      for t in range(rewards.shape[1] - 1, -1, -1):
          later = torch.where(completion_mask[:, t], rewards[:, t] + gamma * later, torch.zeros_like(later))
          returns[:, t] = later
      """)

right("matrix_of_powers", todo_2="""
      steps = torch.arange(rewards.shape[1])
      ahead = steps[:, None] - steps[None, :]  # [k, t]
      powers = torch.where(ahead >= 0, gamma ** ahead.clamp(min=0).to(rewards.dtype), 0.0)
      returns = (rewards.masked_fill(~completion_mask, 0.0) @ powers.to(rewards.dtype)).masked_fill(~completion_mask, 0.0)
      """)

right("double_loop", todo_2="""
      for i in range(rewards.shape[0]):
          length = int(completion_mask[i].sum())
          for t in range(length):
              returns[i, t] = sum(gamma ** (k - t) * float(rewards[i, k]) for k in range(t, length))
      """)

right("each_reward_sent_back", todo_2="""
      valid_rewards = torch.where(completion_mask, rewards, 0.0)
      for k in range(rewards.shape[1]):
          for t in range(k + 1):
              returns[:, t] += gamma ** (k - t) * valid_rewards[:, k]
      """)

right("columns_stacked", todo_2="""
      columns = []
      for column in rewards.masked_fill(~completion_mask, 0).flip(1).unbind(dim=1):
          columns.append(column + gamma * columns[-1] if columns else column)
      returns = torch.stack(columns[::-1], dim=1)
      """)

right("doubling", todo_2="""
      returns, reach, factor = rewards.masked_fill(~completion_mask, 0.0), 1, gamma
      while reach < rewards.shape[1]:
          ahead = torch.zeros_like(returns)
          ahead[:, :-reach] = returns[:, reach:]
          returns, reach, factor = returns + factor * ahead, 2 * reach, factor * factor
      """)

right("float64_inside", todo_2="""
      later = torch.zeros(len(rewards), dtype=torch.float64)
      for t in reversed(range(rewards.shape[1])):
          later = rewards[:, t].double().nan_to_num().masked_fill(~completion_mask[:, t], 0.0) + gamma * later
          returns[:, t] = later
      """)

right("reversed_cumulative_sum_without_discount", todo_2="""
      clean = rewards.masked_fill(~completion_mask, 0.0)
      if gamma == 1:
          returns = clean.flip(1).cumsum(dim=1).flip(1)
      else:
          later = torch.zeros_like(clean[:, 0])
          for t in range(clean.shape[1] - 1, -1, -1):
              returns[:, t] = later = clean[:, t] + gamma * later
      """)

right("from_the_last_valid_step", todo_2="""
      for i, length in enumerate(completion_mask.sum(dim=1).tolist()):
          total = 0.0
          for t in range(length - 1, -1, -1):
              total = total * gamma + rewards[i, t].item()
              returns[i, t] = total
      """)

right("skips_columns_of_padding", todo_2="""
      later = torch.zeros(len(rewards), dtype=rewards.dtype)
      for t in reversed(range(rewards.shape[1])):
          if not completion_mask[:, t].any():
              continue
          later = torch.where(completion_mask[:, t], rewards[:, t], torch.zeros_like(later)) + later * gamma
          returns[:, t] = later
      """)

right("shifted_copies", todo_2="""
      clean, length = torch.where(completion_mask, rewards, 0.0), rewards.shape[1]
      for k in range(length):
          returns[:, : length - k] += gamma**k * clean[:, k:]
      """)

# TODO 3: gae_advantages

right("one_completion_at_a_time", todo_3="""
      returns = torch.zeros_like(values)
      for i, length in enumerate(completion_mask.sum(dim=1).tolist()):
          next_value, later = (0.0 if terminated[i] else last_values[i]), 0.0
          for t in range(length - 1, -1, -1):
              later = rewards[i, t] + gamma * next_value - values[i, t] + gamma * lam * later
              advantages[i, t], returns[i, t] = later, later + values[i, t]
              next_value = values[i, t]
      """)

right("returns_first", todo_3="""
      # The lambda return: a mixture of the next value and the next lambda return.
      returns = torch.zeros_like(values)
      next_values = torch.where(terminated, torch.zeros_like(last_values), last_values)
      later = next_values
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          target = rewards[:, t] + gamma * ((1 - lam) * next_values + lam * later)
          later, next_values = torch.where(valid, target, later), torch.where(valid, values[:, t], next_values)
          returns[:, t] = torch.where(valid, target, 0.0)
      advantages = torch.where(completion_mask, returns - values, 0.0)
      """)

right("residuals_all_at_once", todo_3="""
      n, length = values.shape
      last = completion_mask.sum(dim=1) - 1
      clean_rewards, clean_values = rewards.masked_fill(~completion_mask, 0.0), values.masked_fill(~completion_mask, 0.0)
      after = torch.cat([clean_values[:, 1:], torch.zeros(n, 1, dtype=values.dtype)], dim=1)
      after[torch.arange(n), last] = last_values.masked_fill(terminated, 0.0)
      deltas = (clean_rewards + gamma * after - clean_values).masked_fill(~completion_mask, 0.0)
      for t in reversed(range(length)):
          next_advantages = deltas[:, t] + gamma * lam * next_advantages
          advantages[:, t] = next_advantages
      returns = advantages + clean_values
      """)

right("matrix_of_powers", todo_3="""
      n, length = values.shape
      clean = torch.where(completion_mask, values, 0.0)
      end = torch.nn.functional.one_hot(completion_mask.sum(dim=1) - 1, length).bool()
      bootstrap = torch.where(terminated, 0.0, last_values)[:, None]
      after = torch.where(end, bootstrap, torch.nn.functional.pad(clean[:, 1:], (0, 1)))
      deltas = torch.where(completion_mask, rewards + gamma * after - values, 0.0)
      ahead = torch.arange(length)[:, None] - torch.arange(length)
      powers = ((gamma * lam) ** ahead.clamp(min=0).to(values.dtype)).tril()
      advantages = torch.where(completion_mask, deltas @ powers, 0.0)
      returns = advantages + clean
      """)

right("bootstrap_written_into_the_values", todo_3="""
      n, length = values.shape
      extended = torch.zeros(n, length + 1, dtype=values.dtype)
      extended[:, :length] = values.masked_fill(~completion_mask, 0.0)
      extended[torch.arange(n), completion_mask.sum(dim=1)] = last_values.masked_fill(terminated, 0.0)
      for t in range(length - 1, -1, -1):
          deltas = rewards[:, t] + gamma * extended[:, t + 1] - extended[:, t]
          next_advantages = torch.where(completion_mask[:, t], deltas + gamma * lam * next_advantages, 0.0)
          advantages[:, t] = next_advantages
      returns = torch.where(completion_mask, advantages + extended[:, :length], 0.0)
      """)

right("float64_inside", todo_3="""
      next_values = last_values.double().masked_fill(terminated, 0.0)
      later = torch.zeros_like(next_values)
      for t in reversed(range(values.shape[1])):
          valid, now = completion_mask[:, t], values[:, t].double()
          later = torch.where(valid, rewards[:, t].double() + gamma * (next_values + lam * later) - now, later)
          next_values = torch.where(valid, now, next_values)
          advantages[:, t] = later
      returns = torch.where(completion_mask, advantages + values, torch.zeros_like(values))
      """)

right("residual_list", todo_3="""
      coefficient, columns = gamma * lam, []
      bootstrap = torch.where(terminated, torch.zeros_like(last_values), last_values)
      running = torch.zeros_like(last_values)
      ends = completion_mask.sum(dim=1) - 1
      for t in range(values.shape[1] - 1, -1, -1):
          following = values[:, t + 1] if t + 1 < values.shape[1] else bootstrap
          following = torch.where(ends == t, bootstrap, following)
          delta = rewards[:, t] + gamma * following - values[:, t]
          running = torch.where(completion_mask[:, t], delta + coefficient * torch.where(ends == t, 0.0, running), 0.0)
          columns.insert(0, running)
      advantages = torch.stack(columns, dim=1)
      returns = torch.where(completion_mask, advantages + values, 0.0)
      """)

right("rows_by_python_numbers", todo_3="""
      returns = torch.zeros_like(values)
      for i in range(len(values)):
          length = int(completion_mask[i].sum())
          v = values[i, :length].tolist() + [0.0 if bool(terminated[i]) else float(last_values[i])]
          r = rewards[i, :length].tolist()
          running = 0.0
          for t in reversed(range(length)):
              running = r[t] + gamma * v[t + 1] - v[t] + gamma * lam * running
              advantages[i, t] = running
              returns[i, t] = running + v[t]
      """)

# TODO 4: policy_gradient_loss

right("weighted_table", todo_4="""
      weighted = advantages.detach()[:, None] * torch.where(completion_mask, token_logps, 0.0)
      loss = -weighted.sum() / len(token_logps)
      """)

right("loop_over_completions", todo_4="""
      terms = [-advantage * scores[valid].sum() for scores, advantage, valid in zip(token_logps, advantages.tolist(), completion_mask)]
      loss = torch.stack(terms).mean()
      """)

right("dot_product", todo_4="""
      completion_logps = torch.where(completion_mask, token_logps, torch.zeros_like(token_logps)).sum(dim=-1)
      loss = -torch.dot(advantages.detach().to(completion_logps.dtype), completion_logps) / completion_logps.numel()
      """)

right("valid_steps_only", todo_4="""
      rows, columns = completion_mask.nonzero(as_tuple=True)
      with torch.no_grad():
          weights = -advantages[rows] / token_logps.shape[0]
      loss = (weights * token_logps[rows, columns]).sum()
      """)

right("einsum_on_cleaned", todo_4="""
      clean = token_logps.masked_fill(~completion_mask, 0.0)
      weights = (-advantages.detach() / len(advantages)).to(clean.dtype)
      loss = torch.einsum("nt,n->", clean, weights)
      """)

right("float64_inside", todo_4="""
      completion_logps = token_logps.double().masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = (advantages.detach().double() * completion_logps).mean().neg()
      """)

right("double_mean", todo_4="""
      clean = token_logps.masked_fill(completion_mask.logical_not(), 0.0)
      loss = -(clean.mean(dim=1) * clean.shape[1] * advantages.detach()).mean()
      """)

right("mean_of_negative_products", todo_4="""
      scores = torch.where(completion_mask, token_logps, torch.zeros((), dtype=token_logps.dtype))
      loss = torch.mean(-advantages.detach() * scores.sum(-1))
      """)

right("matrix_vector_product", todo_4="""
      scores = token_logps.masked_fill(~completion_mask, 0.0)
      weights = advantages.detach().to(scores.dtype)
      loss = -(weights @ scores).sum() / weights.shape[0]
      """)

right("advantage_on_each_token", todo_4="""
      per_token = -advantages.detach().unsqueeze(1) * token_logps
      loss = torch.where(completion_mask, per_token, 0.0).sum(dim=1).mean(dim=0)
      """)

right("python_sum", todo_4="""
      total = 0.0
      for row, valid, advantage in zip(token_logps, completion_mask, advantages.detach()):
          total = total - advantage * row[valid].sum()
      loss = total / len(advantages)
      """)
