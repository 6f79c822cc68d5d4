"""What a member works towards: campaigns, milestones and progress."""
